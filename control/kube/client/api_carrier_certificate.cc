// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier_certificate.h"

#include <openssl/bio.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::kube {
namespace {

constexpr std::size_t kLongestName = 120;
constexpr std::size_t kMostNames = 8;

// What a stranger's certificate holds: escaped and bounded.
std::string Shown(std::string_view text) { return absl::CHexEscape(text.substr(0, kLongestName)); }

// "CN=kubernetes"
std::string NameText(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return Shown({data, static_cast<std::size_t>(size)});
}

std::string AddressText(const ASN1_OCTET_STRING& octets) {
  const unsigned char* const data = ASN1_STRING_get0_data(&octets);
  if (ASN1_STRING_length(&octets) == 4) {
    boost::asio::ip::address_v4::bytes_type v4;
    std::memcpy(v4.data(), data, v4.size());
    return boost::asio::ip::make_address_v4(v4).to_string();
  }
  if (ASN1_STRING_length(&octets) != 16) return "?";
  boost::asio::ip::address_v6::bytes_type v6;
  std::memcpy(v6.data(), data, v6.size());
  return boost::asio::ip::make_address_v6(v6).to_string();
}

// The names and addresses that it is for.
std::string AltNames(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) {
      const auto* const text = name->d.dNSName;
      names.push_back(Shown({reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                             static_cast<std::size_t>(ASN1_STRING_length(text))}));
    } else if (name->type == GEN_IPADD) {
      names.push_back(AddressText(*name->d.iPAddress));
    }
  }
  if (names.empty()) return "no name at all";
  const std::size_t all_names = names.size();
  if (all_names <= kMostNames) return absl::StrJoin(names, ", ");
  names.resize(kMostNames);
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", all_names - kMostNames, " more");
}

std::string Date(const std::tm& utc) {
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc)};
}

std::string Date(const ASN1_TIME* time) {
  std::tm utc{};
  return ASN1_TIME_to_tm(time, &utc) == 1 ? Date(utc) : "?";
}

std::string Now() {
  ASN1_TIME* const now = X509_gmtime_adj(nullptr, 0);
  const std::string text = Date(now);
  ASN1_TIME_free(now);
  return text;
}

}  // namespace

std::string DescribeDistrust(int error, const X509* certificate, std::string_view name,
                             std::string_view authorities) {
  if (certificate == nullptr) {
    return absl::StrCat("its certificate is not to be trusted: ",
                        X509_verify_cert_error_string(error));
  }
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("its certificate is for ", AltNames(certificate), ", not for ", name,
                          "; ask it by one of those, or set tls-server-name to one");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("the certificate ", NameText(X509_get_subject_name(certificate)),
                          " has expired on ", Date(X509_get0_notAfter(certificate)),
                          "; renew it, or set this machine's clock, which says ", Now());
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("the certificate ", NameText(X509_get_subject_name(certificate)),
                          " is not valid before ", Date(X509_get0_notBefore(certificate)),
                          "; set this machine's clock, which says ", Now());
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat("its certificate, issued by ",
                          NameText(X509_get_issuer_name(certificate)), ", is not vouched for by ",
                          authorities, "; is that the CA of this cluster?");
    default:
      return absl::StrCat("its certificate ", NameText(X509_get_subject_name(certificate)),
                          " is not to be trusted: ", X509_verify_cert_error_string(error));
  }
}

}  // namespace weft::kube
